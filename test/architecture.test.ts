import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const root = join(__dirname, '..');

/** What each room may import besides itself, from the table of rooms; the longest prefix that fits a file is its room. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  src: ['src'],
  'src/api': ['src/*'],
  'src/config': ['src/api', 'src/*'],
  'src/catalog': ['src/api', 'src/*'],
  'src/expand': ['src'],
  'src/checks': ['src'],
  constructs: ['src'],
  runtime: [],
  'runtime/lib': ['src'],
  'runtime/cluster': ['src', 'runtime/lib'],
  'runtime/simulator': ['src', 'runtime/lib'],
  'runtime/router': ['src', 'runtime/lib', 'runtime/cluster'],
  'runtime/autoscaler': ['src', 'runtime/lib', 'runtime/cluster'],
  'runtime/downloader': ['src', 'runtime/lib'],
  'runtime/cli': ['src', 'runtime'],
  images: [],
};

/** Packages that only the named rooms may import. */
const PACKAGE_ROOMS: Readonly<Record<string, readonly string[]>> = {
  cdk8s: ['constructs'],
  'cdk8s-plus-28': ['constructs'],
  constructs: ['constructs'],
  fastify: ['runtime'],
  undici: ['runtime'],
  ioredis: ['runtime/lib'],
  pino: ['runtime'],
  'prom-client': ['runtime'],
  commander: ['runtime'],
  '@kubernetes/client-node': ['runtime/cluster/kubernetes/kubeconfig-credentials.ts'],
  esbuild: ['images'],
};

interface Import {
  readonly from: string;
  readonly specifier: string;
  /** Path from the root, without extension, for relative imports. */
  readonly target?: string;
}

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? sources(path) : path.endsWith('.ts') ? [path] : [];
  });
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8');
  const pattern =
    /(?:^|\n)\s*(?:import|export)\s[^'"`;]*?from\s*['"]([^'"]+)['"]|(?:import|require)\(\s*['"]([^'"]+)['"]\s*\)|(?:^|\n)\s*import\s*['"]([^'"]+)['"]/g;
  return [...text.matchAll(pattern)].map((match) => {
    const specifier = (match[1] ?? match[2] ?? match[3])!;
    return specifier.startsWith('.')
      ? { from: file, specifier, target: resolve(join(dirname(file), specifier)) }
      : { from: file, specifier };
  });
}

function resolve(path: string): string {
  for (const candidate of [`${path}.ts`, join(path, 'index.ts'), path]) {
    try {
      if (statSync(join(root, candidate)).isFile()) return relative('.', candidate);
    } catch {
      // The next candidate may exist.
    }
  }
  return path;
}

function roomOf(file: string): string {
  return Object.keys(MAY_IMPORT)
    .filter((room) => file.startsWith(`${room}/`))
    .sort((a, b) => b.length - a.length)[0]!;
}

function allows(room: string, target: string): boolean {
  if (roomOf(target) === room) return true;
  return MAY_IMPORT[room]!.some((allowed) =>
    allowed.endsWith('/*') ? dirname(target) === allowed.slice(0, -2) : target.startsWith(`${allowed}/`),
  );
}

const files = ['src', 'constructs', 'runtime', 'images'].flatMap(sources);
const imports = files.flatMap(importsOf);

describe('the house', () => {
  it('has sources, and the reader of import lines sees them', () => {
    expect(files.length).toBeGreaterThan(50);
    expect(imports.length).toBeGreaterThan(files.length);
  });

  it('imports only in the directions that its table of rooms allows', () => {
    const wrong = imports
      .filter(({ from, target }) => target !== undefined && !(from === 'src/index.ts') && !allows(roomOf(from), target))
      .map(({ from, target }) => `${from} → ${target}`);
    expect(wrong).toEqual([]);
  });

  it('imports cdk8s only in constructs, the Kubernetes client in one file, servers only in runtime', () => {
    const wrong = imports
      .filter(({ target }) => target === undefined)
      .filter(({ from, specifier }) => {
        const name = specifier.startsWith('@') ? specifier.split('/').slice(0, 2).join('/') : specifier.split('/')[0]!;
        const rooms = PACKAGE_ROOMS[name];
        return rooms !== undefined && !rooms.some((room) => from === room || from.startsWith(`${room}/`));
      })
      .map(({ from, specifier }) => `${from} → ${specifier}`);
    expect(wrong).toEqual([]);
  });

  it('resolves every relative import', () => {
    const missing = imports.filter(({ target }) => target !== undefined && !files.includes(target) && !target.endsWith('.json'));
    expect(missing.map(({ from, specifier }) => `${from} → ${specifier}`)).toEqual([]);
  });

  it('has no cycle', () => {
    const edges = new Map<string, string[]>();
    for (const { from, target } of imports) if (target !== undefined) edges.set(from, [...(edges.get(from) ?? []), target]);
    expect(cycleIn(edges)).toEqual([]);
  });

  it('has no default export', () => {
    expect(files.filter((file) => /^export default /m.test(readFileSync(join(root, file), 'utf8')))).toEqual([]);
  });
});

/** The files of one cycle in order, or nothing. */
function cycleIn(edges: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): string[] => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return [];
    path.push(file);
    for (const next of edges.get(file) ?? []) {
      const found = visit(next);
      if (found.length > 0) return found;
    }
    path.pop();
    done.add(file);
    return [];
  };
  for (const file of edges.keys()) {
    const found = visit(file);
    if (found.length > 0) return found;
  }
  return [];
}
