import { KvasirError } from '../../src/errors';

/** How a source is reached. Names of the environment and of the JSON document are Kthena's. */
export interface DownloadSettings {
  /** Token of Hugging Face, for gated and private repositories. */
  readonly token: string | undefined;
  /** Without a slash at its end. */
  readonly endpoint: string;
  /** Branch, tag or commit. */
  readonly revision: string;
}

const DEFAULT_ENDPOINT = 'https://huggingface.co';
const DEFAULT_REVISION = 'main';

/**
 * @param document JSON of `--config`: what it says comes before the environment.
 * @throws KvasirError when it is no JSON object of strings.
 */
export function readSettings(document: string | undefined, env: Readonly<Record<string, string | undefined>>): DownloadSettings {
  const given = document === undefined ? {} : objectOf(document);
  const pick = (key: string, ...variables: readonly string[]): string | undefined =>
    [given[key], ...variables.map((name) => env[name])].find((value) => value !== undefined && value !== '');
  const endpoint = pick('hf_endpoint', 'HF_ENDPOINT') ?? DEFAULT_ENDPOINT;
  if (!/^https?:\/\//.test(endpoint) || !URL.canParse(endpoint)) {
    throw invalid('HF_ENDPOINT', `${JSON.stringify(endpoint)} is no URL`, 'write one that begins with https://');
  }
  return {
    token: pick('hf_token', 'HF_AUTH_TOKEN', 'HF_TOKEN'),
    endpoint: endpoint.replace(/\/+$/, ''),
    revision: pick('hf_revision', 'HF_REVISION') ?? DEFAULT_REVISION,
  };
}

function objectOf(document: string): Readonly<Record<string, string>> {
  let value: unknown;
  try {
    value = JSON.parse(document);
  } catch {
    throw invalid('--config', 'is no JSON', 'write an object such as {"hf_revision": "main"}');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid('--config', 'is no JSON object', 'write an object such as {"hf_revision": "main"}');
  }
  const wrong = Object.entries(value).find(([, each]) => typeof each !== 'string');
  if (wrong !== undefined) throw invalid(`--config ${wrong[0]}`, `${JSON.stringify(wrong[1])} is no text`, 'write a string');
  return value as Readonly<Record<string, string>>;
}

function invalid(field: string, message: string, remedy: string): KvasirError {
  return new KvasirError({ code: 'download/settings', field, message, remedy });
}
