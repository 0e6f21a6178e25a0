import type { ListenAddress } from '../../lib/http-listen';

/** What one engine asks of another about KV. Stands for the connectors' own side channels; the bytes of KV themselves are only timed. */
export type KvMessage =
  /** Is anybody there? */
  | { readonly kind: 'hello' }
  /**
   * Handshake and read: are the blocks of `requestId` in the memory of the engine that calls itself `engineId`? Engines understand each
   * other's memory only when they are equal in all that `compatibility` names.
   */
  | { readonly kind: 'read'; readonly engineId: string; readonly compatibility: string; readonly requestId: string }
  /** Keep them: their reader still waits. */
  | { readonly kind: 'renew'; readonly requestId: string }
  /** They were read. */
  | { readonly kind: 'release'; readonly requestId: string }
  /** Answered when the KV that both legs know as `transfer` is there. */
  | { readonly kind: 'await'; readonly transfer: string; readonly engineId?: string }
  /** The KV of `transfer` was received. */
  | { readonly kind: 'received'; readonly transfer: string };

export type KvAnswer =
  | { readonly kind: 'ok'; readonly cachedTokens?: number }
  /** No such engine here: it was started anew, or is of another make. */
  | { readonly kind: 'refused' };

/** A message that waits for its answer, which is given once, at once or later. */
export interface KvCall {
  readonly message: KvMessage;
  answer(answer: KvAnswer): void;
  /** Calls back when the sender goes away without the answer. */
  whenGone(callback: () => void): void;
}

export type KvReceiver = (call: KvCall) => void;

/** A plain HTTP page beside the messages, as bootstrap servers have them. */
export interface KvPage {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** @param url path and query. @returns undefined for an unknown path. */
export type KvPages = (method: string, url: URL, body: string) => KvPage | undefined;

export interface KvEndpoint extends ListenAddress {
  /** Takes no more messages; those without an answer are lost to their senders. */
  close(): void;
}

/** KV that several engines share, by block key. */
export interface KvStore {
  has(key: number): boolean;
  add(key: number): void;
}

/** How engines reach each other: by sockets in wall clock, in memory in virtual time. */
export interface KvFabric {
  /**
   * Takes messages at an address; port 0 takes a free one.
   *
   * @param pages what HTTP clients find at the address, where it has a port of its own.
   * @throws KvasirError `listen/address-in-use`, `listen/not-allowed` or `listen/failed`.
   */
  listen(address: ListenAddress, receive: KvReceiver, pages?: KvPages): Promise<KvEndpoint>;
  /**
   * Sends a message.
   *
   * @param onAnswer called once, later: with `lost` when nobody is there, or when he ends before he answers. Not after the returned call.
   * @returns forgets the answer.
   */
  send(to: ListenAddress, message: KvMessage, onAnswer: (answer: KvAnswer | 'lost') => void): () => void;
  /** The store of that name, the same for every engine of the process. */
  store(name: string): KvStore;
}
