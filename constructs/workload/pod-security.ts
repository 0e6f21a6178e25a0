import type { k8s } from 'cdk8s-plus-28';

/** What an engine's pod may do beyond the least. Each is off unless it is named. */
export interface PodSecurityOptions {
  /** Runs as the image's own user, root in most engine images. @default false: user 1000 */
  readonly runAsImageUser?: boolean;
  /** @default false: only /tmp, the home folder and /dev/shm can be written */
  readonly writableRootFilesystem?: boolean;
  /** Capabilities to add, such as IPC_LOCK. All others are dropped. @default none */
  readonly addCapabilities?: readonly string[];
  /** Service account whose token the pod gets. @default none, and no token */
  readonly serviceAccountName?: string;
}

const USER = 1000;

/** Home of the user that pods run as; an emptyDir. Engines keep their compile caches and downloads under it. */
export const HOME = '/home/engine';

/** Security context of the pod. */
export function podSecurity({ runAsImageUser }: PodSecurityOptions): k8s.PodSecurityContext {
  return {
    ...(runAsImageUser === true ? {} : { runAsNonRoot: true, runAsUser: USER, runAsGroup: USER, fsGroup: USER }),
    seccompProfile: { type: 'RuntimeDefault' },
  };
}

/** Security context of a container. */
export function containerSecurity({ writableRootFilesystem, addCapabilities }: PodSecurityOptions): k8s.SecurityContext {
  return {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: writableRootFilesystem !== true,
    capabilities: { drop: ['ALL'], ...(addCapabilities === undefined ? {} : { add: [...addCapabilities] }) },
  };
}
