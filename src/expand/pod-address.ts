import type { Pod } from '../api/pod';
import { Annotations } from '../labels';

/** Where one of a pod's ports is reached. */
export interface PodAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * Where `containerPort` of `pod` listens: its IP and that port, or the port that the preview's port map names.
 *
 * @returns undefined while the pod has no address.
 */
export function podAddress(pod: Pod, containerPort: number): PodAddress | undefined {
  const host = pod.status?.podIP;
  if (host === undefined || host === '') return undefined;
  const map = pod.metadata.annotations?.[Annotations.portMap];
  const mapped = map
    ?.split(',')
    .map((pair) => pair.split('='))
    .find(([from]) => Number(from) === containerPort)?.[1];
  return { host, port: mapped === undefined ? containerPort : Number(mapped) };
}

/** `host:port` for a URL, with IPv6 in brackets. */
export function authority({ host, port }: PodAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
