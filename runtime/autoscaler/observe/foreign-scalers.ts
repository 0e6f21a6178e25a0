import type { KubeObject } from '../../../src/api/meta';
import type { Objects } from '../../cluster/objects';
import type { ForeignScaler } from '../allocate';

/** Image of Kthena's controllers, of which its autoscaler is one. */
const KTHENA_IMAGE = /(^|\/)kthena-controller-manager([:@]|$)/;

interface Scaler extends KubeObject {
  readonly spec?: { readonly scaleTargetRef?: { readonly kind?: string; readonly name?: string } };
}

interface Workload extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly template?: {
      readonly spec?: {
        readonly containers?: readonly {
          readonly image?: string;
          readonly command?: readonly string[];
          readonly args?: readonly string[];
        }[];
      };
    };
  };
}

/** Who else scales objects of the cluster: HorizontalPodAutoscalers, those of other controllers too, and Kthena's own autoscaler. Pure. */
export function foreignScalers(objects: Pick<Objects, 'list'>): readonly ForeignScaler[] {
  return [
    ...objects.list('HorizontalPodAutoscaler').flatMap((object) => ofHorizontal(object) ?? []),
    ...objects.list('Deployment').flatMap((object) => ofKthena(object) ?? []),
  ];
}

/** @returns undefined when it names no target. */
function ofHorizontal(object: Scaler): ForeignScaler | undefined {
  const { kind, name } = object.spec?.scaleTargetRef ?? {};
  if (kind === undefined || name === undefined) return undefined;
  const namespace = object.metadata.namespace ?? 'default';
  // Who made it makes it again when it is deleted.
  const owner = object.metadata.ownerReferences?.find(({ controller }) => controller === true);
  const [scaler, scalerName] = owner === undefined ? [object.kind, object.metadata.name] : [owner.kind, owner.name];
  return { name: `${scaler} ${namespace}/${scalerName}`, target: { kind, namespace, name } };
}

/** @returns undefined when the Deployment does not run Kthena's autoscaler. */
function ofKthena(object: Workload): ForeignScaler | undefined {
  const { replicas = 1, template } = object.spec ?? {};
  const manager = template?.spec?.containers?.find(({ image = '' }) => KTHENA_IMAGE.test(image));
  if (manager === undefined || replicas === 0 || !runsAutoscaler([...(manager.command ?? []), ...(manager.args ?? [])])) {
    return undefined;
  }
  return { name: `Deployment ${object.metadata.namespace ?? 'default'}/${object.metadata.name}`, target: 'every policy' };
}

/** As Kthena reads `--controllers`: `-x` leaves x out, `x` or `+x` takes it in, `*` all; where none is taken in, all are. */
function runsAutoscaler(args: readonly string[]): boolean {
  const at = args.findLastIndex((arg) => /^--?controllers(=|$)/.test(arg));
  const value = at < 0 ? '*' : (args[at]!.split('=', 2)[1] ?? args[at + 1] ?? '*');
  const names = value.split(',').map((name) => name.trim());
  if (names.includes('-autoscaler')) return false;
  const taken = names.filter((name) => name !== '' && !name.startsWith('-')).map((name) => name.replace(/^\+/, ''));
  return taken.length === 0 || taken.includes('*') || taken.includes('autoscaler');
}
