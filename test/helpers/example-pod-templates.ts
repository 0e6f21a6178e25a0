import { stringify } from 'yaml';
import type { KubeObject } from '../../src/api/meta';
import { readManifests } from '../../src/read-manifests';
import { EXAMPLES, type SynthesisOptions, synthesizeExamples } from './all-examples';
import { filesUnder } from './temporary-folder';

/** What a reader of a difference has to know. */
const HEADER =
  '# Pod templates of the example. A difference here restarts engines in every cluster that takes the new version.\n';

/**
 * Synthesizes all examples into `outdir`, an empty folder.
 *
 * @returns for each example the pod templates of all its workloads as one text, in the order of their files.
 */
export async function examplePodTemplates(
  outdir: string,
  options: Pick<SynthesisOptions, 'sources'> = {},
): Promise<Readonly<Record<string, string>>> {
  await synthesizeExamples(outdir, options);
  const files = Object.entries(filesUnder(outdir)).filter(([path]) => path.endsWith('.yaml'));
  return Object.fromEntries(
    EXAMPLES.map((example) => {
      const objects = files
        .filter(([path]) => path.startsWith(`${example}/`))
        .flatMap(([path, text]) => readManifests(text, path).objects.map(({ object }) => object));
      return [example, `${HEADER}${objects.flatMap(templatesOf).map(documentOf).join('')}`];
    }),
  );
}

interface FoundTemplate {
  readonly of: string;
  readonly template: object;
}

/** The outermost mappings with `spec.containers`, wherever the kind has them. */
function templatesOf(object: KubeObject): readonly FoundTemplate[] {
  // A definition describes templates, and has none.
  if (object.kind === 'CustomResourceDefinition') return [];
  const name = `${object.kind} ${object.metadata.namespace}/${object.metadata.name}`;
  const found: FoundTemplate[] = [];
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return;
    const { spec } = value as { readonly spec?: { readonly containers?: unknown } };
    if (Array.isArray(spec?.containers)) found.push({ of: `${name} ${path}`, template: value });
    else for (const [key, child] of Object.entries(value)) visit(child, path === '' ? key : `${path}.${key}`);
  };
  visit(object, '');
  return found;
}

/** Long lines stay whole: each is one value. */
function documentOf({ of, template }: FoundTemplate): string {
  return `---\n# ${of}\n${stringify(template, { lineWidth: 0 })}`;
}
