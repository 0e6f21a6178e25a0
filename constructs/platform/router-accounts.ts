import type { IConstruct } from 'constructs';

/** The ServiceAccount of a router, which bears its name. */
export interface RouterAccount {
  readonly name: string;
  readonly namespace: string;
}

const accounts = new WeakMap<IConstruct, Set<RouterAccount>>();

/** Says that `construct` is a router with this account. */
export function noteRouterAccount(construct: IConstruct, account: RouterAccount): void {
  const { root } = construct.node;
  const known = accounts.get(root) ?? new Set();
  accounts.set(root, known.add(account));
}

/** Accounts of all routers in the app of `construct`, in an order that does not depend on which was created first. */
export function routerAccounts(construct: IConstruct): readonly RouterAccount[] {
  const keyOf = ({ namespace, name }: RouterAccount): string => `${namespace}/${name}`;
  return [...(accounts.get(construct.node.root) ?? [])].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}
