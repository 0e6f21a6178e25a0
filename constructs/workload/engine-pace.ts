import { modelShapeNamed, weightBytes } from '../../src/catalog/models';
import { kvCapacityTokens, loadTimeMs, stepTimeOf } from '../../src/catalog/step-time';
import type { Accelerator } from '../accelerator';
import type { ModelSource } from '../model-source';

/** Sequences that decode together while a pod finishes its last answers: a busy pod. */
export const BUSY_SEQUENCES = 128;
/** Context of such a sequence, in tokens, as far as the KV cache holds them all. */
const BUSY_CONTEXT_TOKENS = 2000;
/** Time between tokens where the catalogue does not know model or accelerator: slower than any published serving profile. */
const UNKNOWN_ITL_MS = 100;

/** Pull of an engine image of about 10 GB at 100 MB/s, which nodes without a cached copy need first. */
const IMAGE_PULL_SECONDS = 100;
/** Bytes per second at which a hub's files reach a node; a tenth of a 10 Gb/s link, since many pods share it. */
const DOWNLOAD_BYTES_PER_SECOND = 125e6;
/** Start-up where the catalogue does not know the model: half an hour loads 100 GB at the rates above, twice. */
const UNKNOWN_STARTUP_SECONDS = 1800;
/** How much slower than expected a start may be before it counts as failed. */
const STARTUP_MARGIN = 2;

/** What the catalogue expects of a pod. */
export interface EnginePace {
  /** Time between tokens of a busy pod, in milliseconds. */
  readonly itlMs: number;
  /** From the start of the container until it must be ready, in seconds. */
  readonly startupSeconds: number;
  /** From the creation of the pod until it must be ready, in seconds: image pull and downloads by init containers added. */
  readonly startupBudgetSeconds: number;
}

/** Speed and start-up of a pod that serves `source` on `gpus` accelerators, from the sizes in the catalogue. */
export function expectedPace(source: ModelSource, accelerator: Accelerator, gpus: number): EnginePace {
  const shape = source.shapeName === undefined ? undefined : modelShapeNamed(source.shapeName);
  let itlMs = UNKNOWN_ITL_MS;
  if (shape !== undefined && accelerator.facts !== undefined) {
    const step = stepTimeOf(shape, accelerator.facts, gpus);
    const contextTokens = Math.min(BUSY_SEQUENCES * BUSY_CONTEXT_TOKENS, kvCapacityTokens(shape, accelerator.facts, gpus));
    itlMs = step.baseMs + BUSY_SEQUENCES * step.perSequenceMs + contextTokens * step.perKvTokenMs;
  }
  const startupSeconds =
    shape === undefined ? UNKNOWN_STARTUP_SECONDS : startup(source, weightBytes(shape), loadTimeMs(shape) / 1000);
  const beforeSeconds = IMAGE_PULL_SECONDS + initSeconds(source, shape === undefined ? undefined : weightBytes(shape));
  return { itlMs, startupSeconds, startupBudgetSeconds: Math.ceil(startupSeconds + beforeSeconds * STARTUP_MARGIN) };
}

/** Time of a download that comes before the container. */
function initSeconds({ origin }: ModelSource, bytes: number | undefined): number {
  if (origin.kind !== 'folder' || !origin.isFilledByPod) return 0;
  return bytes === undefined ? UNKNOWN_STARTUP_SECONDS / STARTUP_MARGIN : bytes / DOWNLOAD_BYTES_PER_SECOND;
}

function startup(source: ModelSource, bytes: number, loadSeconds: number): number {
  const downloadSeconds = source.origin.kind === 'hub' ? bytes / DOWNLOAD_BYTES_PER_SECOND : 0;
  return Math.ceil((downloadSeconds + loadSeconds) * STARTUP_MARGIN);
}
