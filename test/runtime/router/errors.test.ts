import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorDocument, ROUTER_ERRORS, RouterError, textOf, toRouterError } from '../../../runtime/router/errors';

const ROOT = join(__dirname, '../../..');

function sources(folder: string): string {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== 'errors.ts')
    .map((entry) => (entry.isDirectory() ? sources(join(folder, entry.name)) : readFileSync(join(folder, entry.name), 'utf8')))
    .join('\n');
}

describe('the table of errors', () => {
  const page = readFileSync(join(ROOT, 'docs/router.md'), 'utf8');
  const router = sources(join(ROOT, 'runtime/router'));

  it.each(Object.entries(ROUTER_ERRORS))('%s is documented, used, and says what to do', (code, kind) => {
    expect(page).toContain(`\`${code}\``);
    if (code !== 'internal') expect(router).toContain(`'${code}'`);
    expect(kind.remedy).not.toBe('');
  });

  it('has Retry-After on every 429 and 503, and no 400 for overload', () => {
    for (const kind of Object.values(ROUTER_ERRORS)) {
      // How long a limit lasts is known of each request alone.
      if (kind.reason === 'rate_limit') continue;
      expect('retryAfterSeconds' in kind).toBe([429, 503].includes(kind.status));
      if (kind.reason === 'overload' || kind.reason === 'scheduling') expect(kind.status).toBe(503);
    }
  });

  it('takes a wait of its own, and a name that clients know, where an error has them', () => {
    const error = new RouterError('output_rate_limit', 'too much', null, 7);
    expect(error.retryAfterSeconds).toBe(7);
    expect(textOf(error)).toMatchObject({ status: 429, type: 'tokens', code: 'rate_limit_exceeded' });
    expect(new RouterError('overloaded', 'full').retryAfterSeconds).toBe(1);
  });

  it('says nothing of an error that was not foreseen', () => {
    const error = toRouterError(new Error('secret prompt'));
    expect(error.code).toBe('internal');
    expect(JSON.stringify(errorDocument(textOf(error), 'openai'))).not.toContain('secret');
  });

  it('keeps a router error as it is', () => {
    const error = new RouterError('no_endpoints', 'none');
    expect(toRouterError(error)).toBe(error);
  });
});
