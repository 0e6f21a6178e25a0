import { runHostile } from '../../helpers/hostile-run';

const COUNT = Number(process.env.KVASIR_HOSTILE_REQUESTS ?? 1_000);
const SEED = Number(process.env.KVASIR_HOSTILE_SEED ?? 20_261_130);

describe(`${COUNT} random and hostile requests, seed ${SEED}`, () => {
  it('never end in a 500, a hang or a crash, and bring no forbidden member, header or path to an engine, nor a prompt into another tenant’s cache', async () => {
    const report = await runHostile(COUNT, SEED);
    expect(report.requests).toBeGreaterThanOrEqual(COUNT);
    // The attacks are worth something only while a good share of them passes the first checks.
    expect(report.dispatched).toBeGreaterThan(report.requests / 20);
    expect(report.salted).toBeGreaterThan(report.requests / 200);
    expect(Object.keys(report.statuses.members ?? {})).toEqual(expect.arrayContaining(['200', '400', '404']));
  }, 600_000);
});
