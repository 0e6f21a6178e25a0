import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { importSpecifiers, packageOf } from './helpers/import-specifiers';

const root = join(__dirname, '..');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  dependencies: Readonly<Record<string, string>>;
  peerDependencies: Readonly<Record<string, string>>;
};

/** Names of the packages that the modules under `folder` import. */
function packagesImportedIn(folder: string): string[] {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const specifiers = files.flatMap((name) => importSpecifiers(readFileSync(join(root, folder, name), 'utf8')));
  const packages = specifiers.filter((specifier) => !specifier.startsWith('.') && !isBuiltin(specifier)).map(packageOf);
  return [...new Set(packages)].sort();
}

describe('what a user of the constructs installs', () => {
  it('is what they import, and nothing else', () => {
    const installed = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
    expect([...new Set(['src', 'constructs'].flatMap(packagesImportedIn))].sort()).toEqual(installed.sort());
  });

  it('has cdk8s and what belongs to it as peers, because an app must have one copy of them; the contract needs none of them', () => {
    const peers = Object.keys(manifest.peerDependencies);
    expect(packagesImportedIn('src').filter((name) => peers.includes(name))).toEqual([]);
    expect(packagesImportedIn('constructs').filter((name) => !(name in manifest.dependencies))).toEqual(peers.sort());
  });
});
