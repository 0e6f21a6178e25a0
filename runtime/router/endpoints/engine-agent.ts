import { Agent, buildConnector } from 'undici';
import { authority } from '../../../src/expand/pod-address';
import type { EngineTls } from '../listener/router-tls';
import type { Endpoint } from './endpoint';

/** Where an engine's HTTP is, such as `http://10.0.0.1:8000`. */
export function engineOrigin(endpoint: Pick<Endpoint, 'host' | 'port' | 'protocol'>): string {
  return `${endpoint.protocol ?? 'http'}://${authority(endpoint)}`;
}

/** Connections for the router's own questions to engines. @param tls read for each connection over https. */
export function engineAgent(options: Agent.Options, tls: () => EngineTls): Agent {
  let made: { readonly tls: EngineTls; readonly connect: buildConnector.connector } | undefined;
  return new Agent({
    ...options,
    connect: (target, callback) => {
      const now = tls();
      if (made?.tls !== now) made = { tls: now, connect: buildConnector(now as buildConnector.BuildOptions) };
      made.connect(target, callback);
    },
  });
}
