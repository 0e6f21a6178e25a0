import { SynthesizedObjects } from './synth';

/** The fields that an object must have; it may have more. Lists must be as long as given. */
export interface ExpectedObject {
  readonly kind: string;
  readonly metadata?: { readonly name?: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

interface MatcherResult {
  readonly pass: boolean;
  message(): string;
}

/** jest matchers for synthesized objects: `expect.extend(matchers)`. */
export const matchers = {
  /** Passes when one object has all fields of `expected`. The message shows where the nearest one differs. */
  toContainObject(received: unknown, expected: ExpectedObject): MatcherResult {
    if (!(received instanceof SynthesizedObjects)) {
      return { pass: false, message: () => 'toContainObject takes what synth(chart) returns' };
    }
    const differences = received.all
      .filter(({ kind }) => kind === expected.kind)
      .filter(({ metadata }) => expected.metadata?.name === undefined || metadata.name === expected.metadata.name)
      .map((object) => ({ name: object.metadata.name, paths: differingPaths(object, expected, '') }))
      .sort((a, b) => a.paths.length - b.paths.length);
    const [nearest] = differences;
    const name = `${expected.kind} ${expected.metadata?.name ?? 'of any name'}`;
    if (nearest === undefined) {
      return {
        pass: false,
        message: () => `no ${name} among ${received.all.map(({ kind, metadata }) => `${kind} ${metadata.name}`).join(', ')}`,
      };
    }
    return nearest.paths.length === 0
      ? { pass: true, message: () => `found ${expected.kind} ${nearest.name} with all of these fields` }
      : { pass: false, message: () => `${expected.kind} ${nearest.name} differs at ${nearest.paths.join('; ')}` };
  },
};

function differingPaths(actual: unknown, expected: unknown, path: string): string[] {
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return [difference(actual, expected, path)];
    return expected.flatMap((element, index) => differingPaths(actual[index], element, `${path}[${index}]`));
  }
  if (typeof expected === 'object' && expected !== null) {
    if (typeof actual !== 'object' || actual === null) return [difference(actual, expected, path)];
    return Object.entries(expected).flatMap(([key, value]) =>
      differingPaths((actual as Readonly<Record<string, unknown>>)[key], value, path === '' ? key : `${path}.${key}`),
    );
  }
  return Object.is(actual, expected) ? [] : [difference(actual, expected, path)];
}

function difference(actual: unknown, expected: unknown, path: string): string {
  return `${path}: ${JSON.stringify(actual)} where ${JSON.stringify(expected)} is expected`;
}

declare global {
  namespace jest {
    interface Matchers<R, T> {
      toContainObject(expected: ExpectedObject): R;
    }
  }
}
