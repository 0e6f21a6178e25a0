import { describeObject } from '../../../src/api/meta';
import type { ModelServer } from '../../../src/api/model-server';
import type { RouterConfig } from '../../../src/config/router-config';
import type { Finding } from '../../../src/errors';

/** What a ModelServer asks for that this router, as it is configured, can hardly serve. */
export function modelServerFindings(server: ModelServer, engineTls: RouterConfig['engineTls'] | undefined): readonly Finding[] {
  const { caFile, serverName, insecureSkipVerify } = engineTls ?? {};
  const isTold = caFile !== undefined || serverName !== undefined || insecureSkipVerify === true;
  if (server.spec.workloadPort.protocol !== 'https' || isTold) return [];
  return [
    {
      code: 'routing/engine-tls',
      severity: 'warning',
      object: describeObject(server),
      field: 'spec.workloadPort.protocol',
      message: 'is https, and the router takes only certificates that a public authority signed for the address of a pod',
      remedy: 'name the authority in engineTls.caFile of the router, and what the certificate is for in engineTls.serverName',
    },
  ];
}
