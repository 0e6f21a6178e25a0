/** The kit for tests of your own stacks: `import { synth, matchers } from 'kvasir/testing'`. */

export { type CostOptions, type ExpectedObject, matchers } from './matchers';
export { snapshotSerializer } from './snapshot-serializer';
export type { Definition } from './structural-schema';
export { type AnyObject, type ObjectOf, SynthesizedObjects, synth } from './synth';
