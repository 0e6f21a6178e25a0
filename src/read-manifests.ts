import type { KubeObject } from './api/meta';
import type { Finding } from './errors';
import { readYaml, type YamlDocument } from './yaml-as-kubectl';

/** One object of a manifest file. */
export interface ManifestObject {
  /** Every field of the file, as plain JSON values. */
  readonly object: KubeObject;
  readonly file: string;
  /** 1-based line where it starts. */
  readonly line: number;
}

export interface ReadManifests {
  readonly objects: readonly ManifestObject[];
  readonly findings: readonly Finding[];
}

/** Group of files that kustomize reads; no API server knows it. */
const KUSTOMIZE = 'kustomize.config.k8s.io/';

type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Reads the Kubernetes objects of one YAML or JSON file as kubectl does: YAML 1.1 (`0777` is octal, `yes` is true), several
 * documents, empty ones skipped, concatenated JSON objects, `List` kinds unwrapped.
 *
 * @param file how findings name the file.
 * @returns the readable objects, and one finding for each document or object that kubectl or the API server would refuse.
 */
export function readManifests(text: string, file: string): ReadManifests {
  const objects: ManifestObject[] = [];
  const findings: Finding[] = [];
  const json = readJson(text);
  let documents: readonly YamlDocument[];
  if (json !== undefined) {
    documents = json;
  } else {
    const yaml = readYaml(text);
    documents = yaml.documents;
    for (const { severity, line, message, remedy } of yaml.problems) {
      const code = severity === 'error' ? 'manifest/malformed' : 'manifest/suspicious';
      findings.push({ code, severity, file: `${file}:${line}`, message, remedy });
    }
  }
  for (const document of documents) {
    unwrap(document.value, document.line, document.itemLine);
  }
  return { objects, findings: findings.sort(byLine) };

  function unwrap(value: unknown, line: number, itemLine: (index: number) => number): void {
    const place = `${file}:${line}`;
    if (!isJsonObject(value) || (value.kind === undefined && (value.apiVersion === undefined || value.metadata === undefined))) {
      const message = `${isJsonObject(value) ? 'this' : brief(value)} is no Kubernetes object`;
      const remedy = 'write apiVersion, kind and metadata, or keep other files elsewhere';
      // Folders hold other files too: charts and their values, dashboards.
      const severity = isJsonObject(value) ? 'warning' : 'error';
      findings.push({ code: 'manifest/not-an-object', severity, file: place, message, remedy });
      return;
    }
    if (typeof value.apiVersion === 'string' && value.apiVersion.startsWith(KUSTOMIZE)) {
      const message = 'a kustomization is not applied';
      const remedy = 'give what kustomize builds of it';
      findings.push({ code: 'manifest/not-an-object', severity: 'warning', file: place, message, remedy });
      return;
    }
    const { kind, apiVersion, items } = value;
    if (typeof kind === 'string' && kind.endsWith('List') && Array.isArray(items)) {
      items.forEach((item: unknown, index) => {
        // Items of a typed list may leave out what the list's own kind says.
        const typed = kind !== 'List' && isJsonObject(item) ? { apiVersion, kind: kind.slice(0, -'List'.length), ...item } : item;
        const at = itemLine(index);
        unwrap(typed, at, () => at);
      });
      return;
    }
    const problem = problemOf(value, place);
    if (problem === undefined) objects.push({ object: value as unknown as KubeObject, file, line });
    else findings.push(problem);
  }
}

function problemOf(value: JsonObject, place: string): Finding | undefined {
  const metadata = value.metadata;
  const name = isJsonObject(metadata) ? metadata.name : undefined;
  const known = [value.kind, name].filter((part) => typeof part === 'string' && part !== '').join(' ') || undefined;
  const missing = (field: string, example: string): Finding =>
    finding('manifest/missing-field', place, known, 'is missing', `add it, such as ${example}`, field);
  const wrong = (field: string, is: unknown, wanted: string): Finding =>
    finding(
      'manifest/wrong-type',
      place,
      known,
      `${brief(is)} is no ${wanted}`,
      typeof is === 'object' ? `give a ${wanted}` : 'put it in quotes',
      field,
    );

  for (const [field, is, example] of [
    ['apiVersion', value.apiVersion, 'apiVersion: apps/v1'],
    ['kind', value.kind, 'kind: Deployment'],
  ] as const) {
    if (is === undefined || is === null || is === '') return missing(field, example);
    if (typeof is !== 'string') return wrong(field, is, 'string');
  }
  if (metadata !== undefined && metadata !== null && !isJsonObject(metadata)) return wrong('metadata', metadata, 'mapping');
  if (name === undefined || name === null || name === '') return missing('metadata.name', 'name: my-model');
  if (typeof name !== 'string') return wrong('metadata.name', name, 'string');
  const { namespace } = metadata as JsonObject;
  if (namespace !== undefined && namespace !== null && typeof namespace !== 'string')
    return wrong('metadata.namespace', namespace, 'string');
  for (const map of ['labels', 'annotations'] as const) {
    const entries = (metadata as JsonObject)[map];
    if (entries === undefined || entries === null) continue;
    if (!isJsonObject(entries)) return wrong(`metadata.${map}`, entries, 'mapping');
    for (const [key, text] of Object.entries(entries)) {
      if (typeof text !== 'string') return wrong(`metadata.${map}.${key}`, text, 'string');
    }
  }
  return undefined;
}

/** @returns undefined when `text` is no JSON, so that it is read as YAML. */
function readJson(text: string): YamlDocument[] | undefined {
  if (!/^\uFEFF?\s*\{/.test(text)) return undefined;
  const documents: YamlDocument[] = [];
  for (const { part, line } of topLevelObjects(text.replace(/^\uFEFF/, ''))) {
    try {
      documents.push({ value: JSON.parse(part), line, itemLine: () => line });
    } catch {
      return undefined;
    }
  }
  return documents;
}

function* topLevelObjects(text: string): Generator<{ readonly part: string; readonly line: number }> {
  let depth = 0;
  let isInString = false;
  let start = 0;
  let line = 1;
  let startLine = 1;
  for (let i = 0; i < text.length; i++) {
    const character = text[i];
    if (character === '\n') line += 1;
    if (isInString) {
      if (character === '\\') i += 1;
      else if (character === '"') isInString = false;
    } else if (character === '"') isInString = true;
    else if (character === '{' && depth++ === 0 && text.slice(start, i).trim() === '') {
      start = i;
      startLine = line;
    } else if (character === '}' && --depth === 0) {
      yield { part: text.slice(start, i + 1), line: startLine };
      start = i + 1;
      startLine = line;
    }
  }
  if (text.slice(start).trim() !== '') yield { part: text.slice(start), line: startLine };
}

function finding(
  code: string,
  file: string,
  object: string | undefined,
  message: string,
  remedy: string,
  field?: string,
): Finding {
  return {
    code,
    severity: 'error',
    file,
    ...(object === undefined ? {} : { object }),
    ...(field === undefined ? {} : { field }),
    message,
    remedy,
  };
}

function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function brief(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= 40 ? text : `${text.slice(0, 37)}...`;
}

function byLine(a: Finding, b: Finding): number {
  return lineOf(a) - lineOf(b);
}

function lineOf({ file = '' }: Finding): number {
  return Number(file.slice(file.lastIndexOf(':') + 1));
}
