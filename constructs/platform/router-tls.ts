import type { RouterConfig } from '../../src/config/router-config';
import { SecretRef } from '../secret-ref';
import type { DeepPartial } from './deep-partial';
import type { MountedFiles } from './platform-pod';

/** How a router's requests are encrypted. */
export interface RouterTls {
  /**
   * Name of a Secret of type `kubernetes.io/tls` in the router's namespace, such as cert-manager makes. What changes in it counts without a
   * restart.
   */
  readonly certificate: string;
  /** PEM bundle of the authorities that sign certificates of clients; who has none is refused. @default nobody needs one */
  readonly clientAuthorities?: SecretRef;
}

/** How a router asks engines whose ModelServer says https. */
export interface EngineTls {
  /** PEM bundle of the authorities that sign engines' certificates, from a Secret in the router's namespace. @default the public ones */
  readonly caCertificate?: SecretRef;
  /** Name of a Secret of type `kubernetes.io/tls` with what the router shows to engines. @default it shows nothing */
  readonly clientCertificate?: string;
  /** Name that engines' certificates must be for. @default the address of the pod, which few certificates have */
  readonly serverName?: string;
  /** Accepts any certificate of an engine. @default false */
  readonly insecureSkipVerify?: boolean;
}

const LISTENER = '/etc/tls';
const ENGINES = '/etc/engine-tls';
/** Keys of a Secret of type `kubernetes.io/tls`, and what they are called as files. */
const CERTIFICATE = 'tls.crt';
const KEY = 'tls.key';
const AUTHORITIES = 'ca.crt';

type Sections = Pick<DeepPartial<RouterConfig>, 'tls' | 'engineTls'>;

/** The sections of the router's configuration document that find the certificates. They are named by file. */
export function tlsSections(given: Sections | undefined, tls: RouterTls | undefined, engineTls: EngineTls | undefined): Sections {
  const { clientCertificate, caCertificate, serverName, insecureSkipVerify } = engineTls ?? {};
  return {
    ...(tls === undefined
      ? {}
      : {
          tls: {
            ...given?.tls,
            certFile: `${LISTENER}/${CERTIFICATE}`,
            keyFile: `${LISTENER}/${KEY}`,
            ...(tls.clientAuthorities === undefined ? {} : { clientCaFile: `${LISTENER}/${AUTHORITIES}` }),
          },
        }),
    ...(engineTls === undefined
      ? {}
      : {
          engineTls: {
            ...given?.engineTls,
            ...(caCertificate === undefined ? {} : { caFile: `${ENGINES}/${AUTHORITIES}` }),
            ...(clientCertificate === undefined ? {} : { certFile: `${ENGINES}/${CERTIFICATE}`, keyFile: `${ENGINES}/${KEY}` }),
            ...(serverName === undefined ? {} : { serverName }),
            ...(insecureSkipVerify === undefined ? {} : { insecureSkipVerify }),
          },
        }),
  };
}

/** The files that `tlsSections` names. */
export function tlsFiles(tls: RouterTls | undefined, engineTls: EngineTls | undefined): readonly MountedFiles[] {
  return [
    mounted('tls', LISTENER, tls?.certificate, tls?.clientAuthorities),
    mounted('engine-tls', ENGINES, engineTls?.clientCertificate, engineTls?.caCertificate),
  ].filter(({ files }) => files.length > 0);
}

function mounted(name: string, folder: string, pair: string | undefined, authorities: SecretRef | undefined): MountedFiles {
  const keys = pair === undefined ? [] : [CERTIFICATE, KEY].map((key) => ({ path: key, secret: SecretRef.existing(pair, key) }));
  return { name, folder, files: [...keys, ...(authorities === undefined ? [] : [{ path: AUTHORITIES, secret: authorities }])] };
}
