import { spawn } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(__dirname, '../../..');

describe('the process of an image', () => {
  it('lives until it has a status, also while it only waits for a timer of its clock', async () => {
    const program = `
      const { sleep } = require('./runtime/lib/clock');
      const { exitWith } = require('./runtime/lib/image-program');
      const { wallClock } = require('./runtime/lib/wall-clock');
      exitWith(sleep(wallClock(), 100).then(() => 3));
    `;
    const child = spawn(process.execPath, ['--import', 'tsx', '--eval', program], { cwd: ROOT, stdio: 'ignore' });
    expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(3);
  });
});
