/** By what a file is known to be whole and right. */
export type Digest =
  | { readonly kind: 'sha256'; readonly hex: string }
  /** Of git: SHA-1 over `blob <bytes>\0` and the content. */
  | { readonly kind: 'git-blob'; readonly hex: string };

/** A file that is to be fetched. */
export interface RemoteFile {
  /** Below the folder of the model, with slashes. */
  readonly path: string;
  readonly bytes: number;
  readonly digest: Digest | undefined;
  readonly url: string;
}

/** All files of one revision of a model. */
export interface RemoteModel {
  /** What pins the content: a commit. */
  readonly revision: string;
  readonly files: readonly RemoteFile[];
}
