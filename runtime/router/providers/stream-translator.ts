/** Turns the events of one protocol's stream into those of another, as they come. */
export interface StreamTranslator {
  /**
   * @param data of one event, as it was sent.
   * @returns text of the events that the client gets for it; empty for none.
   * @throws SyntaxError for data that is no JSON.
   */
  event(data: string): string;
}
