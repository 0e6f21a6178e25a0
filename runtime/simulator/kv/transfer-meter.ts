import { Histogram } from '../metrics/exposition';

/** Bounds as vLLM's NIXL metrics have them, in seconds and bytes. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 5];
const BYTES = [11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33].map((power) => 2 ** power);

/** What an engine fetched from others. */
export class TransferMeter {
  readonly seconds = new Histogram(SECONDS);
  readonly bytes = new Histogram(BYTES);
  failed = 0;

  transferred(milliseconds: number, bytes: number): void {
    this.seconds.observe(milliseconds / 1000);
    this.bytes.observe(bytes);
  }
}
