/** The kit for tests of your own stacks: `import { synth, matchers } from 'kvasir/testing'`. */

export { type ExpectedObject, matchers } from './matchers';
export { type AnyObject, type ObjectOf, SynthesizedObjects, synth } from './synth';
