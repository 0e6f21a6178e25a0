export {
  ACCELERATOR_RESOURCES,
  ACCELERATORS,
  type Accelerator,
  acceleratorNamed,
  acceleratorOfNodeSelector,
  DEFAULT_ACCELERATOR,
  type NodeLabel,
} from './accelerators';
export type { Engine, EngineName, EngineTable } from './engines/engine';
export { ENGINES, engineOfApiName, engineTable, newestVersion } from './engines/engine-table';
export { type EngineFlag, type FlagTable, type FoundFlag, findFlag, nearestFlag } from './engines/flag';
export { type MetricConcept, type MetricName, type MetricTable, metricsOfVersion } from './engines/metrics';
export { compareVersions } from './engines/version';
export {
  type Attention,
  DEFAULT_MODEL_SHAPE,
  kvBytesPerToken,
  MODEL_SHAPES,
  type ModelShape,
  modelShapeNamed,
  modelShapeOrDefault,
  weightBytes,
} from './models';
export {
  DEFAULT_LOAD_BYTES_PER_SECOND,
  DEFAULT_MEMORY_UTILIZATION,
  gpusNeeded,
  kvCapacityTokens,
  loadTimeMs,
  type StepTime,
  stepTimeOf,
} from './step-time';
