import type { RequestOptions } from 'node:https';

/** What a request over TLS shows and trusts. */
export type ConnectionOptions = Pick<RequestOptions, 'agent' | 'ca' | 'cert' | 'key' | 'rejectUnauthorized' | 'servername'> & {
  readonly headers: Readonly<Record<string, string>>;
};

/** Where the API of a cluster is, and as whom this process asks. */
export interface Credentials {
  /** Such as `https://10.96.0.1:443`; may have a path. */
  readonly server: string;
  /** Namespace of this process, or of the chosen context. */
  readonly namespace: string;
  /** Asked before each request, since tokens and certificates are renewed while a process runs. @throws when they cannot be had. */
  connection(): Promise<ConnectionOptions>;
}
