import type { ConnectionOptions } from 'node:tls';
import type { EngineTlsConfig, TlsConfig } from '../../../src/config/tls-config';
import { findingLine } from '../../../src/errors';
import type { Logger } from '../../lib/logger';
import { TlsFiles, type TlsFilesOptions, type TlsMaterial } from '../../lib/tls-files';
import type { TlsMetrics, TlsUse } from '../observability/tls-metrics';

export interface RouterTlsOptions {
  /** Of the inference port; undefined: it is plain. */
  readonly listener: TlsConfig | undefined;
  readonly engines: EngineTlsConfig;
  readonly metrics: TlsMetrics;
  readonly log: Logger;
}

/** How engines' certificates are judged, and what they are shown. */
export type EngineTls = Pick<ConnectionOptions, 'secureContext' | 'servername' | 'rejectUnauthorized'>;

/** What a listener is given when it is made, and again when its certificate changed. */
export interface ListenerCertificate {
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly ca: string | undefined;
  readonly minVersion: TlsConfig['minVersion'];
}

/** The certificates of a router, as they are now: bad new ones leave the last good ones in use. */
export class RouterTls {
  private onListener: ((certificate: ListenerCertificate) => void) | undefined;
  private onEngines: (() => void) | undefined;
  private engineTls: EngineTls;

  /** @throws KvasirError `config/tls-files` when a file cannot be used. */
  static async open(options: RouterTlsOptions): Promise<RouterTls> {
    let opened: RouterTls | undefined;
    const { listener, engines } = options;
    const listenerFiles =
      listener === undefined
        ? undefined
        : await TlsFiles.open({
            ...reporting(options, 'listener', () => opened?.listenerChanged()),
            names: { certFile: listener.certFile, keyFile: listener.keyFile, caFile: listener.clientCaFile },
            fields: { certFile: 'tls.certFile', keyFile: 'tls.keyFile', caFile: 'tls.clientCaFile' },
            minVersion: listener.minVersion,
          });
    const engineFiles = await TlsFiles.open({
      ...reporting(options, 'engines', () => opened?.enginesChanged()),
      names: { certFile: engines.certFile, keyFile: engines.keyFile, caFile: engines.caFile },
      fields: { certFile: 'engineTls.certFile', keyFile: 'engineTls.keyFile', caFile: 'engineTls.caFile' },
    }).catch((error: unknown) => {
      listenerFiles?.close();
      throw error;
    });
    if (listenerFiles !== undefined) options.metrics.taken('listener', listenerFiles.current.expiresAtMs);
    options.metrics.taken('engines', engineFiles.current.expiresAtMs);
    opened = new RouterTls(options, listenerFiles, engineFiles);
    return opened;
  }

  private constructor(
    private readonly options: RouterTlsOptions,
    private readonly listenerFiles: TlsFiles | undefined,
    private readonly engineFiles: TlsFiles,
  ) {
    this.engineTls = engineTlsOf(options.engines, engineFiles.current);
  }

  /** Undefined for a plain listener. */
  get listener(): ListenerCertificate | undefined {
    const { listener } = this.options;
    if (listener === undefined || this.listenerFiles === undefined) return undefined;
    const { cert, key, ca } = this.listenerFiles.current;
    return { cert, key, ca, minVersion: listener.minVersion };
  }

  /** The same object until something of it changes. */
  get engines(): EngineTls {
    return this.engineTls;
  }

  /** @param onListener told of a new certificate. @param onEngines told when connections to engines must be made anew. */
  follow(onListener: (certificate: ListenerCertificate) => void, onEngines: () => void): void {
    this.onListener = onListener;
    this.onEngines = onEngines;
  }

  close(): void {
    this.listenerFiles?.close();
    this.engineFiles.close();
  }

  private listenerChanged(): void {
    this.onListener?.(this.listener!);
  }

  private enginesChanged(): void {
    this.engineTls = engineTlsOf(this.options.engines, this.engineFiles.current);
    this.onEngines?.();
  }
}

function engineTlsOf({ serverName, insecureSkipVerify }: EngineTlsConfig, { context }: TlsMaterial): EngineTls {
  return {
    secureContext: context,
    rejectUnauthorized: !insecureSkipVerify,
    ...(serverName === undefined ? {} : { servername: serverName }),
  };
}

function reporting(
  { metrics, log }: RouterTlsOptions,
  use: TlsUse,
  changed: () => void,
): Pick<TlsFilesOptions, 'onChange' | 'onBad'> {
  return {
    onChange: ({ expiresAtMs }) => {
      metrics.taken(use, expiresAtMs);
      log.info({ use, expiresAtMs }, 'new certificate files are in use');
      changed();
    },
    onBad: ({ finding }) => {
      metrics.refused(use);
      log.error({ use, code: finding.code }, `${findingLine(finding)}; the last good ones stay in use`);
    },
  };
}
