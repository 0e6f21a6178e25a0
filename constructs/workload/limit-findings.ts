import type { Finding } from '../../src/errors';
import type { Limit, WorkloadName } from './workload';

/** Findings about what `workload` cannot express, each with the engine that can. */
export function limitFindings(workload: WorkloadName, limits: readonly Limit[]): readonly Finding[] {
  return limits.map(({ what, instead }) => ({
    code: 'workload/cannot-express',
    severity: 'error',
    field: what.split(' ')[0]!,
    message: `${what}, which a ${workload} cannot do`,
    remedy: typeof instead === 'string' ? `a ${instead} can: workload: '${instead}'` : instead.remedy,
  }));
}
