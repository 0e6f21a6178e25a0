import { formatAddress } from '../../lib/http-listen';
import { totalCostPerHour } from './model-rows';
import type { RunningPreview } from './preview';

/** What `--json` prints of a preview: each model as it is now, with the changes of its replicas so far. Times are in the clock's ms. */
export function previewDocument(preview: RunningPreview, speed: number): object {
  const rows = preview.rows();
  return {
    router: `http://${formatAddress(preview.router.address)}`,
    speed,
    simulated: true,
    costPerHour: totalCostPerHour(rows) ?? null,
    models: rows.map((row) => {
      const changes = preview.scalings.filter(({ target }) => row.targets.includes(target));
      return {
        model: row.model,
        replicas: {
          ready: row.podsReady,
          wanted: row.replicas,
          min: row.bounds?.min ?? null,
          max: row.bounds?.max ?? null,
          scaleUps: changes.filter(({ from, to }) => to > from).length,
          scaleDowns: changes.filter(({ from, to }) => to < from).length,
          changes: changes.map(({ target, from, to, atMs }) => ({ target, from, to, atMs: Math.round(atMs) })),
        },
        running: row.running,
        waiting: row.waiting,
        cacheHitRatio: row.cacheHit ?? null,
        ttftMs: { p50: row.ttftP50Ms ?? null, p90: row.ttftP90Ms ?? null },
        costPerHour: row.costPerHour ?? null,
      };
    }),
    findings: preview.cluster.findings(),
  };
}
