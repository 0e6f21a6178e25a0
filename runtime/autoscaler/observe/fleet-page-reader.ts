import { type MetricsPage, MetricsPageReader } from './metrics-page';
import { PagePacker } from './packed-page';

/** Reads pages of many pods, round after round. What they have in common (labels, bounds, the order of families) is kept once. */
export class FleetPageReader {
  private wanted: ReadonlySet<string> = new Set();
  private reader = new MetricsPageReader(this.wanted);
  private readonly packer = new PagePacker();

  /** Changes which families are read. */
  want(families: ReadonlySet<string>): void {
    if (families.size === this.wanted.size && [...families].every((family) => this.wanted.has(family))) return;
    this.wanted = families;
    this.reader = new MetricsPageReader(families);
  }

  read(text: string): MetricsPage {
    return this.packer.pack(this.reader.read(text));
  }
}
