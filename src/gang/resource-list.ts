import { canonicalQuantity, parseQuantity } from '../quantity';

/** Resource name → quantity, as containers request them. */
export type ResourceList = Readonly<Record<string, string | number>>;

/** What the containers of a pod request together. Init containers run before them and are not counted; nor are limits. */
export function containerRequests(pod: {
  readonly containers: readonly { readonly resources?: { readonly requests?: ResourceList } }[];
}): ResourceList {
  return addQuantities(pod.containers.map(({ resources }) => resources?.requests ?? {}));
}

/** Sums by resource, in the form in which the API server stores quantities. Sizes in `Ki` … `Ei` keep their family. */
export function addQuantities(lists: readonly ResourceList[]): Record<string, string> {
  const names = [...new Set(lists.flatMap((list) => Object.keys(list)))].sort();
  return Object.fromEntries(
    names.map((name) => {
      const quantities = lists.flatMap((list) => (list[name] === undefined ? [] : [list[name]]));
      return [
        name,
        format(
          quantities.reduce<number>((sum, quantity) => sum + quantityOf(name, quantity), 0),
          quantities,
        ),
      ];
    }),
  );
}

export function timesQuantity(list: ResourceList, count: number): ResourceList {
  if (count === 0) return {};
  return Object.fromEntries(
    Object.entries(list).map(([name, quantity]) => [name, format(quantityOf(name, quantity) * count, [quantity])]),
  );
}

/** @throws RangeError naming the resource when `quantity` is none. */
function quantityOf(name: string, quantity: string | number): number {
  const value = parseQuantity(quantity);
  if (value === undefined) throw new RangeError(`${name}: ${quantity} is no quantity`);
  return value;
}

function format(value: number, from: readonly (string | number)[]): string {
  const isBinary = from.some((quantity) => typeof quantity === 'string' && quantity.endsWith('i'));
  return canonicalQuantity(isBinary && value % 1024 === 0 ? `${value / 1024}Ki` : value);
}
