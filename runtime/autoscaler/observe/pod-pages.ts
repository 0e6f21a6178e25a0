import type { Pod } from '../../../src/api/pod';
import { authority, podAddress } from '../../../src/expand/pod-address';
import type { Clock } from '../../lib/clock';
import type { FleetPageReader } from './fleet-page-reader';
import type { HttpReader } from './http-reader';
import type { MetricsPage } from './metrics-page';
import type { PageArchive, Past } from './page-archive';

/** One pod's page in one round. */
export type PodPage =
  | { readonly kind: 'page'; readonly atMs: number; readonly page: MetricsPage; readonly past: Past }
  | { readonly kind: 'unreachable'; readonly reason: string };

/** The pages of one round: each pod is asked once, however many policies read it. */
export class PodPages {
  private readonly asked = new Map<string, Promise<PodPage>>();

  constructor(
    private readonly parts: {
      readonly clock: Clock;
      readonly http: HttpReader;
      readonly archive: PageArchive;
      /** Wants the families that any policy reads. */
      readonly reader: FleetPageReader;
    },
  ) {}

  read(pod: Pod, port: number, uri: string): Promise<PodPage> {
    const key = `${pod.metadata.namespace ?? 'default'}/${pod.metadata.name}#${pod.metadata.uid ?? ''}:${port}${uri}`;
    let page = this.asked.get(key);
    if (page === undefined) {
      page = this.ask(key, pod, port, uri);
      this.asked.set(key, page);
    }
    return page;
  }

  /** Ends the round: the archive forgets pods that were not asked. */
  finish(): void {
    this.parts.archive.keepOnly((key) => this.asked.has(key));
  }

  /** How many pages were asked for, and how many of them did not come. */
  async tally(): Promise<{ readonly asked: number; readonly failed: number }> {
    const pages = await Promise.all(this.asked.values());
    return { asked: pages.length, failed: pages.filter(({ kind }) => kind === 'unreachable').length };
  }

  private async ask(key: string, pod: Pod, port: number, uri: string): Promise<PodPage> {
    const { clock, http, archive, reader } = this.parts;
    const address = podAddress(pod, port);
    if (address === undefined) return { kind: 'unreachable', reason: `pod ${pod.metadata.name} has no address` };
    const answer = await http.read(`http://${authority(address)}${uri}`, (text) => reader.read(text));
    if (answer.kind === 'failed') {
      return { kind: 'unreachable', reason: `http://${authority(address)}${uri} of pod ${pod.metadata.name} ${answer.reason}` };
    }
    const snapshot = { atMs: clock.monotonic(), page: answer.value };
    return { kind: 'page', ...snapshot, past: archive.file(key, incarnationOf(pod), snapshot) };
  }
}

/** Changes when any container of the pod is started anew. */
function incarnationOf({ status }: Pod): string {
  const starts = (status?.containerStatuses ?? []).map(({ name, restartCount }) => `${name}:${restartCount}`);
  return [status?.startTime ?? '', ...starts].join(' ');
}
