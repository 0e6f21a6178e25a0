import type { IConstruct } from 'constructs';
import { Cluster } from './cluster';
import type { ImageSettings } from './images';

/** What constructs know of the app around them. */
export interface StackContext {
  readonly cluster: Cluster;
  readonly images: ImageSettings;
}

const KEY = 'kvasir.dev/stack';
const DEFAULT: StackContext = { cluster: Cluster.of({}), images: {} };

/** Gives everything under `root` its context. Must be called before `root` has children. */
export function setStackContext(root: IConstruct, context: StackContext): void {
  root.node.setContext(KEY, context);
}

/** The context that `GitOpsApp` gave; the defaults under another cdk8s `App`. */
export function stackContext(construct: IConstruct): StackContext {
  return (construct.node.tryGetContext(KEY) as StackContext | undefined) ?? DEFAULT;
}

/** Whether a `GitOpsApp` is above, which collects findings itself. */
export function hasStackContext(construct: IConstruct): boolean {
  return construct.node.tryGetContext(KEY) !== undefined;
}
