/** A program that fills a cache before engines start: it takes `--source <uri> --output-dir <folder>`, as Kthena's downloader does. */
export interface ModelDownload {
  /** Container image of the program. */
  readonly image: string;
  /**
   * `init-container`: each pod downloads before its engine starts, and finds what others already downloaded. `job`: one Job fills a claim
   * that all pods share; under Argo CD they start after it, elsewhere they start again until the files are there.
   *
   * @default 'init-container'
   */
  readonly by?: 'init-container' | 'job';
  /** More environment variables, such as `HF_ENDPOINT`. @default none */
  readonly env?: Readonly<Record<string, string>>;
}
