import type { Accelerator } from '../accelerator';
import type { PodPatch } from '../workload/pod-override';
import type { RdmaNetwork, RoleWiring } from './wiring';

/** Transports of UCX between GPUs of a vendor, by the prefix of its extended resource. */
const GPU_TRANSPORTS: readonly (readonly [prefix: string, transports: string])[] = [
  ['nvidia.com/', 'cuda_ipc,cuda_copy'],
  ['amd.com/', 'rocm_ipc,rocm_copy'],
];

/**
 * Environment of UCX, which NIXL moves bytes with, and of NCCL, which joins the GPUs of a replica. Each may be overridden by the user's own.
 *
 * @param usesUcx whether the connector moves bytes by UCX.
 */
export function networkEnvironment(
  network: RdmaNetwork | undefined,
  { resourceName }: Accelerator,
  usesUcx: boolean,
): Readonly<Record<string, string>> {
  const devices = network?.devices ?? [];
  const gpu = GPU_TRANSPORTS.find(([prefix]) => resourceName.startsWith(prefix))?.[1];
  const isRdma = network !== undefined;
  return {
    // Without a list UCX tries every card of the node, those that the pod may not open too.
    ...(usesUcx && gpu !== undefined ? { UCX_TLS: isRdma ? `rc,sm,${gpu},tcp` : `${gpu},tcp` } : {}),
    // Peers find each other by the pods' addresses, which the RDMA cards do not have.
    ...(usesUcx && isRdma ? { UCX_SOCKADDR_TLS_PRIORITY: 'tcp' } : {}),
    ...(usesUcx && devices.length > 0 ? { UCX_NET_DEVICES: devices.map((device) => `${device}:1`).join(',') } : {}),
    ...(devices.length > 0 && resourceName.startsWith('nvidia.com/') ? { NCCL_IB_HCA: devices.join(',') } : {}),
  };
}

/** What a role's pods get beside flags and literal environment: addresses, secrets, ports, network cards, the shared folder. */
export function podPatchOf(wiring: RoleWiring, network: RdmaNetwork | undefined): PodPatch {
  const env = [
    ...wiring.podIpEnv.map((name) => ({ name, valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'status.podIP' } } })),
    ...Object.entries(wiring.secretEnv).map(([name, secret]) => ({
      name,
      valueFrom: { secretKeyRef: { name: secret.name, key: secret.key } },
    })),
  ];
  const cards = network === undefined ? undefined : { [network.resource]: String(network.count ?? 1) };
  const folder = wiring.sharedFolder;
  return {
    containers: [
      {
        name: 'engine',
        ...(env.length === 0 ? {} : { env }),
        ...(wiring.ports.length === 0
          ? {}
          : { ports: wiring.ports.map(({ name, port }) => ({ name, containerPort: port, protocol: 'TCP' })) }),
        ...(cards === undefined ? {} : { resources: { limits: cards, requests: cards } }),
        ...(folder === undefined ? {} : { volumeMounts: [{ name: 'kv', mountPath: folder.mountPath }] }),
      },
    ],
    ...(folder === undefined ? {} : { volumes: [{ name: 'kv', persistentVolumeClaim: { claimName: folder.claim } }] }),
  };
}
