import type { IConstruct } from 'constructs';
import type { Finding } from '../../src/errors';

/** A finding and the construct that it is about, by which it may be acknowledged. */
export interface FoundAt {
  readonly construct: IConstruct;
  readonly finding: Finding;
}
