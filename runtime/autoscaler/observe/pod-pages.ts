import type { Pod } from '../../../src/api/pod';
import { authority, podAddress } from '../../../src/expand/pod-address';
import type { Clock } from '../../lib/clock';
import type { ListenAddress } from '../../lib/http-listen';
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
    const { name, namespace = 'default', uid = '' } = pod.metadata;
    return this.once(`${namespace}/${name}#${uid}:${port}${uri}`, async (key) => {
      const address = podAddress(pod, port);
      if (address === undefined) return { kind: 'unreachable', reason: `pod ${name} has no address` };
      return this.ask(key, `http://${authority(address)}${uri}`, `of pod ${name} `, incarnationOf(pod));
    });
  }

  /** The page of something that is no pod. */
  readAt(address: ListenAddress, uri: string): Promise<PodPage> {
    const url = `http://${authority(address)}${uri}`;
    return this.once(url, () => this.ask(url, url, '', ''));
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

  private once(key: string, ask: (key: string) => Promise<PodPage>): Promise<PodPage> {
    let page = this.asked.get(key);
    if (page === undefined) {
      page = ask(key);
      this.asked.set(key, page);
    }
    return page;
  }

  /** @param whose for people, with a space behind it. */
  private async ask(key: string, url: string, whose: string, incarnation: string): Promise<PodPage> {
    const { clock, http, archive, reader } = this.parts;
    const answer = await http.read(url, (text) => reader.read(text));
    if (answer.kind === 'failed') return { kind: 'unreachable', reason: `${url} ${whose}${answer.reason}` };
    const snapshot = { atMs: clock.monotonic(), page: answer.value };
    return { kind: 'page', ...snapshot, past: archive.file(key, incarnation, snapshot) };
  }
}

/** Changes when any container of the pod is started anew. */
function incarnationOf({ status }: Pod): string {
  const starts = (status?.containerStatuses ?? []).map(({ name, restartCount }) => `${name}:${restartCount}`);
  return [status?.startTime ?? '', ...starts].join(' ');
}
