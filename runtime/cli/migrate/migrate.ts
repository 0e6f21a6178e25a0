import { CLUSTER_SCOPED_KINDS } from '../../../src/api/cluster-scoped-kinds';
import { withoutLiveFields } from '../../../src/api/live-fields';
import { describeObject, type KubeObject } from '../../../src/api/meta';
import type { Finding } from '../../../src/errors';
import { WORKLOAD_GROUP } from '../../../src/labels';
import type { ManifestObject } from '../../../src/read-manifests';
import { decodeManifests } from '../manifests/decode-manifests';
import { chartStatements } from './chart-statements';
import { failingChecks } from './failing-checks';
import type { MigratedObject } from './migrated-object';
import { Names } from './names';
import { quoted, WIDTH } from './typescript-literal';

/** A TypeScript program, or why there is none. */
export interface Migration {
  /** Undefined when an object is invalid. */
  readonly program: string | undefined;
  readonly findings: readonly Finding[];
  /** Objects of the program; one that is given twice counts once. */
  readonly objects: readonly MigratedObject[];
}

/** Chart of objects that name no namespace. */
const NO_NAMESPACE = 'manifests';

/**
 * The stack that makes the same objects as some manifests: our constructs where they can say all of an object, single objects elsewhere,
 * a chart for each namespace. The same manifests give the same text. Status and what an API server sets is left out.
 */
export function migrate(given: readonly ManifestObject[]): Migration {
  // Dumps of a running cluster hold what no person writes.
  const manifests = given.map((manifest) => ({ ...manifest, object: withoutLiveFields(manifest.object) }));
  const { invalid, findings } = decodeManifests(manifests);
  const { objects, duplicates } = lastOfEach(manifests);
  if (invalid > 0) return { program: undefined, findings, objects };
  return { program: programOf(objects), findings: [...findings, ...duplicates], objects };
}

function programOf(objects: readonly MigratedObject[]): string {
  const variables = Names.variables();
  const ids = Names.ids();
  const classes = new Set<string>();
  const failing = failingChecks(objects.map(({ manifest }) => manifest.object));
  const sections = groupsOf(objects).flatMap(([namespace, members]) => {
    const id = ids.free([namespace ?? NO_NAMESPACE, `${NO_NAMESPACE}-without-namespace`]);
    const chart = variables.variable(id, 'Chart');
    const written = chartStatements(
      members.map(({ manifest }) => manifest.object),
      { chart, variables, failing },
    );
    for (const name of written.classes) classes.add(name);
    const props = namespace === undefined ? '' : `, { namespace: ${quoted(namespace)} }`;
    return [`const ${chart} = new Chart(app, ${quoted(id)}${props});`, ...written.statements];
  });
  return `${[imports(classes), appOf(objects), ...sections, 'app.synth();'].join('\n\n')}\n`;
}

function imports(classes: ReadonlySet<string>): string {
  const own = ['Cluster', 'GitOpsApp', ...[...classes].filter((name) => name !== 'ApiObject')].sort();
  const cdk8s = classes.has('ApiObject') ? 'ApiObject, Chart' : 'Chart';
  const line = `import { ${own.join(', ')} } from 'kvasir';`;
  const kvasir = line.length <= WIDTH ? line : `import {\n${own.map((name) => `  ${name},\n`).join('')}} from 'kvasir';`;
  return `import { ${cdk8s} } from 'cdk8s';\n${kvasir}`;
}

/** ModelServings need Kthena's workload controller; everything else is served by Kvasir's images. */
function appOf(objects: readonly MigratedObject[]): string {
  const needsKthena = objects.some(
    ({ manifest: { object } }) =>
      object.apiVersion.startsWith(`${WORKLOAD_GROUP}/`) && (object.kind === 'ModelServing' || object.kind === 'ModelBooster'),
  );
  return `const app = new GitOpsApp({ cluster: Cluster.of({ kthena: '${needsKthena ? 'workload' : 'absent'}' }) });`;
}

/** Namespaces by name, what has none first. */
function groupsOf(objects: readonly MigratedObject[]): readonly (readonly [string | undefined, readonly MigratedObject[]])[] {
  const groups = new Map<string | undefined, MigratedObject[]>();
  for (const object of objects) {
    const group = groups.get(object.namespace) ?? [];
    groups.set(object.namespace, group);
    group.push(object);
  }
  return [...groups].sort(([a = ''], [b = '']) => (a < b ? -1 : a > b ? 1 : 0));
}

/** Of an object that is given twice the last one counts, as with `kubectl apply`. */
function lastOfEach(manifests: readonly ManifestObject[]): {
  readonly objects: readonly MigratedObject[];
  readonly duplicates: readonly Finding[];
} {
  const last = new Map<string, ManifestObject>();
  const duplicates: Finding[] = [];
  for (const manifest of manifests) {
    const key = keyOf(manifest.object);
    const earlier = last.get(key);
    if (earlier !== undefined) duplicates.push(duplicate(earlier, manifest));
    last.set(key, manifest);
  }
  return { objects: [...last.values()].map((manifest) => ({ manifest, namespace: namespaceOf(manifest.object) })), duplicates };
}

function keyOf(object: KubeObject): string {
  return JSON.stringify([object.apiVersion.split('/')[0], object.kind, namespaceOf(object), object.metadata.name]);
}

function namespaceOf({ kind, metadata: { namespace } }: KubeObject): string | undefined {
  return CLUSTER_SCOPED_KINDS.has(kind) || !namespace ? undefined : namespace;
}

function duplicate(earlier: ManifestObject, later: ManifestObject): Finding {
  return {
    code: 'references/duplicate',
    severity: 'warning',
    file: `${earlier.file}:${earlier.line}`,
    object: describeObject(earlier.object),
    message: `is given again in ${later.file}:${later.line}, and only that one is in the program`,
    remedy: 'migrate the files one by one if both are needed',
  };
}
