import { KvasirError } from '../../src/errors';
import { type Http, type HttpAnswer, hostOf, type Retries } from './http';
import type { RemoteFile, RemoteModel } from './remote-file';
import type { DownloadSettings } from './settings';

interface TreeEntry {
  readonly type: string;
  readonly path: string;
  readonly size: number;
  /** Of the blob in git: the file itself, or the pointer to it. */
  readonly oid: string;
  readonly lfs?: { readonly oid: string; readonly size: number };
}

/**
 * The files of a repository, at the commit that its revision names now.
 *
 * @throws KvasirError `download/*` when it does not exist, or may not be read.
 */
export async function huggingFaceModel(
  repository: string,
  { endpoint, revision, token }: DownloadSettings,
  http: Http,
  retries: Retries,
): Promise<RemoteModel> {
  const ask = async (url: string): Promise<HttpAnswer> => {
    const answer = await retries.run(() => http.get(url));
    if (answer.status === 200) return answer;
    const said = answer.headers['x-error-message'];
    await answer.body.dump();
    throw refusal(answer.status, typeof said === 'string' ? said : '', { repository, revision, endpoint, token });
  };
  const api = `${endpoint}/api/models/${repository}`;
  const about = await ask(`${api}/revision/${encodeURIComponent(revision)}`);
  const { sha } = (await about.body.json()) as { readonly sha: string };
  const files: RemoteFile[] = [];
  for (let url: string | undefined = `${api}/tree/${sha}?recursive=true`; url !== undefined; ) {
    const answer = await ask(url);
    for (const entry of (await answer.body.json()) as readonly TreeEntry[]) {
      if (entry.type === 'file') files.push(fileOf(entry, `${endpoint}/${repository}/resolve/${sha}`));
    }
    url = nextPage(answer.headers.link, endpoint);
  }
  return { revision: sha, files };
}

function fileOf({ path, size, oid, lfs }: TreeEntry, base: string): RemoteFile {
  if (path.split('/').some((part) => part === '' || part === '.' || part === '..')) {
    throw new KvasirError({
      code: 'download/path',
      message: `the repository has a file at ${JSON.stringify(path)}, which may lie outside its folder`,
      remedy: 'take another repository',
    });
  }
  return {
    path,
    bytes: lfs?.size ?? size,
    digest: lfs === undefined ? { kind: 'git-blob', hex: oid } : { kind: 'sha256', hex: lfs.oid },
    url: `${base}/${path.split('/').map(encodeURIComponent).join('/')}`,
  };
}

function nextPage(link: string | string[] | undefined, endpoint: string): string | undefined {
  const next = typeof link === 'string' ? /<([^>]+)>\s*;\s*rel="?next"?/.exec(link)?.[1] : undefined;
  return next === undefined ? undefined : new URL(next, endpoint).href;
}

/** What a client can do about an answer that is no success. */
export function refusal(
  status: number,
  said: string,
  of: { readonly repository: string } & Pick<DownloadSettings, 'revision' | 'endpoint' | 'token'>,
): KvasirError {
  const page = `${of.endpoint}/${of.repository}`;
  const told = said === '' ? '' : ` (${said})`;
  const fail = (message: string, remedy: string): KvasirError =>
    new KvasirError({ code: 'download/refused', field: '--source', message: message + told, remedy });
  switch (status) {
    case 401:
    case 403:
      return of.token === undefined
        ? fail(
            `${page} is gated, private, or does not exist`,
            'accept its conditions on that page, and give a token of that account in HF_AUTH_TOKEN',
          )
        : fail(
            `the account of HF_AUTH_TOKEN may not read ${page}`,
            'accept its conditions on that page with that account, or give a token that may read it',
          );
    case 404:
      return fail(`${page} has no revision ${JSON.stringify(of.revision)}`, 'correct --source or HF_REVISION');
    default:
      return fail(`${hostOf(of.endpoint)} answered ${status}`, 'try again later, or give another HF_ENDPOINT');
  }
}
