import { Command } from 'commander';
import { addSimulateCommand } from '../../../../runtime/cli/commands/simulate-autoscaling';
import { parsePools } from '../../../../runtime/cli/scaling-proof/service-pool';

const simulate = async (...flags: readonly string[]): Promise<void> => {
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  addSimulateCommand(program);
  for (const command of program.commands) command.exitOverride().configureOutput({ writeErr: () => undefined });
  await program.parseAsync(['simulate', 'autoscaling', '--hours', '0.5', ...flags], { from: 'user' });
};

describe('kvasir simulate autoscaling', () => {
  it.each([
    [['--peak', '20', '--days', '1'], { finding: { code: 'simulate/peak-above-maximum', field: '--peak' } }],
    [['--traffic', 'trace'], { finding: { code: 'simulate/no-trace', field: '--traffic' } }],
    [['--pools', 'H900:1-2'], { finding: { code: 'catalog/unknown-accelerator' } }],
    [['--pools', 'H100-NVL-94GB:1-2'], { finding: { code: 'simulate/unpriced-accelerator', field: '--pools' } }],
    [['--model', 'meta-llama/Llama-3.1-405B-Instruct', '--trace', 'none.jsonl'], { finding: { code: 'replay/cannot-read' } }],
    [['--pools', 'L40S-48GB:0-2'], { code: 'commander.invalidArgument' }],
    [['--traffic', 'weekly'], { code: 'commander.invalidArgument' }],
  ])('says what is wrong with %j before anything runs', async (flags, expected) => {
    await expect(simulate(...flags)).rejects.toMatchObject(expected);
  });

  it.each(['L40S-48GB', 'L40S-48GB:3-2', 'L40S-48GB:1-2,L40S-48GB:0-1', 'L40S-48GB:0-0'])(
    'does not take %j for pools',
    (text) => {
      expect(() => parsePools(text)).toThrow(/give classes with replicas/);
    },
  );
});
