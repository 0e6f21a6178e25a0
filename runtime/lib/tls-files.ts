import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContext } from 'node:tls';
import { KvasirError } from '../../src/errors';
import { PathWatcher } from './path-watcher';

/** Names of PEM files; a certificate has its key. */
export interface TlsFileNames {
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  /** Authorities that the other side's certificate is checked with. @default those of Node */
  readonly caFile?: string | undefined;
}

/** What the files held when they were last good. */
export interface TlsMaterial {
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly ca: string | undefined;
  readonly context: SecureContext;
  /** When the certificate ends, epoch milliseconds; undefined without one. */
  readonly expiresAtMs: number | undefined;
}

export interface TlsFilesOptions {
  readonly names: TlsFileNames;
  /** What each file is called in the configuration, for errors. */
  readonly fields: Readonly<Record<keyof TlsFileNames, string>>;
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3' | undefined;
  /** Told of each change that is good. */
  readonly onChange: (material: TlsMaterial) => void;
  /** Told of each change that is bad; what was good stays. */
  readonly onBad: (error: KvasirError) => void;
}

/** The files must be the same for so long, in real milliseconds: a certificate and its key are not written at one time. */
const SETTLE_MS = 100;
const CERTIFICATE = '-----BEGIN CERTIFICATE-----';

type Texts = Readonly<Record<keyof TlsFileNames, string | undefined>>;

/** A certificate, its key and authorities in files that somebody renews, such as a mounted Secret. Changes are seen without a restart. */
export class TlsFiles {
  private readonly watcher: PathWatcher;
  private reading: Promise<void> = Promise.resolve();
  private isClosed = false;

  /** Reads the files. @throws KvasirError `config/tls-files` when they cannot be used. */
  static async open(options: TlsFilesOptions): Promise<TlsFiles> {
    const texts = await textsOf(options);
    const files = new TlsFiles(options, materialOf(texts, options), fingerprint(texts));
    await files.watcher.start();
    return files;
  }

  private constructor(
    private readonly options: TlsFilesOptions,
    private material: TlsMaterial,
    private seen: string,
  ) {
    const { certFile, keyFile, caFile } = options.names;
    const paths = [certFile, keyFile, caFile].filter((path) => path !== undefined);
    this.watcher = new PathWatcher(paths, () => {
      this.reading = this.reading.then(() => this.read());
    });
  }

  /** What is in use. */
  get current(): TlsMaterial {
    return this.material;
  }

  close(): void {
    this.isClosed = true;
    this.watcher.close();
  }

  private async read(): Promise<void> {
    let now = await this.stateNow();
    while (!this.isClosed && now.mark !== this.seen) {
      await new Promise<void>((resolve) => setTimeout(resolve, SETTLE_MS).unref());
      const again = await this.stateNow();
      if (again.mark === now.mark && !this.isClosed) {
        this.seen = now.mark;
        this.take(now);
      }
      now = again;
    }
  }

  private take(state: State): void {
    try {
      if ('error' in state) throw state.error;
      this.material = materialOf(state.texts, this.options);
    } catch (error) {
      if (!(error instanceof KvasirError)) throw error;
      this.options.onBad(error);
      return;
    }
    this.options.onChange(this.material);
  }

  private async stateNow(): Promise<State> {
    try {
      const texts = await textsOf(this.options);
      return { mark: fingerprint(texts), texts };
    } catch (error) {
      return { mark: (error as KvasirError).message, error: error as KvasirError };
    }
  }
}

type State = { readonly mark: string; readonly texts: Texts } | { readonly mark: string; readonly error: KvasirError };

async function textsOf({ names, fields }: TlsFilesOptions): Promise<Texts> {
  const read = async (which: keyof TlsFileNames): Promise<string | undefined> => {
    const name = names[which];
    if (name === undefined) return undefined;
    try {
      return await readFile(name, 'utf8');
    } catch (cause) {
      const code = (cause as NodeJS.ErrnoException).code;
      throw unusable(fields[which], `${name} cannot be read (${code})`, 'name a file that the process may read', cause);
    }
  };
  const [certFile, keyFile, caFile] = await Promise.all([read('certFile'), read('keyFile'), read('caFile')]);
  return { certFile, keyFile, caFile };
}

function materialOf(
  { certFile: cert, keyFile: key, caFile: ca }: Texts,
  { names, fields, minVersion }: TlsFilesOptions,
): TlsMaterial {
  for (const [which, text] of [['certFile', cert] as const, ['caFile', ca] as const]) {
    if (text !== undefined && !text.includes(CERTIFICATE)) {
      throw unusable(fields[which], `${names[which]} holds no certificate`, 'give certificates as PEM');
    }
  }
  try {
    const context = createSecureContext({ cert, key, ca, minVersion });
    if (ca !== undefined) new X509Certificate(ca);
    return {
      cert,
      key,
      ca,
      context,
      expiresAtMs: cert === undefined ? undefined : Date.parse(new X509Certificate(cert).validTo),
    };
  } catch (cause) {
    const what = cause instanceof Error ? cause.message : String(cause);
    throw unusable(
      fields.certFile,
      `its certificate, key and authorities cannot be used (${what})`,
      'give a certificate and the key that it was made for, as PEM',
      cause,
    );
  }
}

function fingerprint(texts: Texts): string {
  return JSON.stringify(texts);
}

function unusable(field: string, message: string, remedy: string, cause?: unknown): KvasirError {
  return new KvasirError({ code: 'config/tls-files', field, message, remedy }, { cause });
}
