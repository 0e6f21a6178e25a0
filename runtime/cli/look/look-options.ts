import { type Command, Option } from 'commander';
import { KvasirError } from '../../../src/errors';

/** Flags that `get`, `status` and `explain` share. */
export interface LookFlags {
  /** `kubernetes`, or files and folders of manifests; none: what runs behind the router's debug port. */
  readonly cluster: readonly string[];
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly router?: string;
  readonly autoscaler?: string;
  readonly namespace?: string;
  readonly allNamespaces?: true;
  readonly json?: true;
}

/** Adds the flags that say where to look, and what of it. */
export function addLookOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--cluster <source>', '`kubernetes`, or a folder or file of manifests, which may be given several times')
        .argParser((path: string, before: readonly string[]) => [...before, path])
        .default([], 'what a running preview or router says'),
    )
    .option('--kubeconfig <file>', 'with `--cluster kubernetes`: file of addresses and credentials')
    .option('--context <name>', 'with `--cluster kubernetes`: context of the kubeconfig')
    .option('--router <host:port>', "a router's debug port")
    .option('--autoscaler <host:port>', "an autoscaler's debug port")
    .option('-n, --namespace <name>', 'only this namespace')
    .option('-A, --all-namespaces', 'every namespace, as without -n')
    .option('--json', 'print one JSON document');
}

/** The namespace to show; undefined: all. @throws KvasirError `cli/namespaces` when both are asked for. */
export function namespaceOf({ namespace, allNamespaces }: LookFlags): string | undefined {
  if (namespace !== undefined && allNamespaces === true) {
    throw new KvasirError({
      code: 'cli/namespaces',
      field: '--all-namespaces',
      message: `contradicts --namespace ${namespace}`,
      remedy: 'give one of the two',
    });
  }
  return namespace;
}
