/**
 * A key of a Secret that somebody else made. Kvasir never writes a secret's value into a manifest.
 *
 * @example
 * ModelSource.huggingFace('meta-llama/Llama-3.3-70B-Instruct', { token: SecretRef.existing('hugging-face', 'token') });
 */
export class SecretRef {
  /** @param name name of the Secret, in the namespace of the pods that use it. */
  static existing(name: string, key: string): SecretRef {
    return new SecretRef(name, key);
  }

  private constructor(
    readonly name: string,
    readonly key: string,
  ) {}
}
