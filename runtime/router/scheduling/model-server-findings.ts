import { describeObject } from '../../../src/api/meta';
import type { ModelServer } from '../../../src/api/model-server';
import type { Finding } from '../../../src/errors';

/** What a ModelServer asks for that this router serves in another way. */
export function modelServerFindings(server: ModelServer): readonly Finding[] {
  const object = describeObject(server);
  const findings: Finding[] = [];
  if (server.spec.workloadPort.protocol === 'https') {
    findings.push({
      code: 'routing/engine-tls',
      severity: 'warning',
      object,
      field: 'spec.workloadPort.protocol',
      message: 'https to engines is not supported, so its pods are asked in plain HTTP and may refuse it',
      remedy: 'let the engine listen in plain HTTP inside the cluster',
    });
  }
  if (server.spec.workloadSelector.pdGroup !== undefined) {
    findings.push({
      code: 'routing/disaggregated',
      severity: 'warning',
      object,
      field: 'spec.workloadSelector.pdGroup',
      message: 'prefill and decode pods are not paired: decode pods get whole requests and prefill themselves',
      remedy: 'serve the model from pods of one kind',
    });
  }
  return findings;
}
