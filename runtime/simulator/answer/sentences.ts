/** How every answer begins, so that nobody takes it for a model's. */
export const OPENING = 'Simulated answer: this text comes from an engine simulator, not from a model.';

/** What answers go on with, in an order drawn for each answer. Each begins with a space, so that it has the same tokens in any order. */
export const SENTENCES: readonly string[] = [
  ' The words carry no meaning; their number and their timing do.',
  ' Each token leaves when a step of continuous batching would have computed it.',
  ' A prompt whose beginning is cached is answered sooner.',
  ' Long prompts are prefilled in chunks beside the decodes of others.',
  ' When memory for keys and values runs out, the newest request is preempted.',
  ' A request whose client leaves gives its slot back with the next step.',
  ' More replicas make the queue shorter and the bill longer.',
  ' Requests that share a system prompt are best sent to the same replica.',
  ' Adapters share the base model and have caches of their own.',
  ' The time to the first token is mostly prefill and waiting.',
  ' The time between tokens grows with the batch and its context.',
  ' Nothing here was learned, remembered or understood.',
];
