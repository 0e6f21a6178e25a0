// In a checkout the command runs from `dist/`, which is not committed: this makes it when it is missing or older than its sources.
// A published package has `dist/` and no sources; there this does nothing.
const { spawnSync } = require('node:child_process');
const { existsSync, readdirSync, statSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');

const root = join(__dirname, '..');
const stamp = join(root, 'dist', '.compiled');

function newestMtimeMs(path) {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return readdirSync(path).reduce((newest, name) => Math.max(newest, newestMtimeMs(join(path, name))), stat.mtimeMs);
}

function isCurrent() {
  if (!existsSync(stamp)) return false;
  const sources = ['src', 'constructs', 'runtime', 'images', 'examples', 'tsconfig.json', 'package.json'];
  const made = statSync(stamp).mtimeMs;
  return sources.every((name) => newestMtimeMs(join(root, name)) <= made);
}

function run(args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  if (status === 0) return;
  process.stderr.write(`failed\n${stdout}${stderr}`);
  process.exit(1);
}

exports.compileCheckout = function compileCheckout() {
  if (!existsSync(join(root, 'tsconfig.json')) || isCurrent()) return;
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  if (!existsSync(compiler)) {
    process.stderr.write('kvasir: the packages it is built with are not installed; run `npm ci` first [cli/not-installed]\n');
    process.exit(1);
  }
  const started = Date.now();
  process.stderr.write('kvasir: compiling this checkout … ');
  run([compiler, '-p', 'tsconfig.json']);
  run([join('dist', 'images', 'build.js')]);
  writeFileSync(stamp, '');
  process.stderr.write(`done in ${((Date.now() - started) / 1000).toFixed(1)} s\n`);
};
