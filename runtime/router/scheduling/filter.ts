import type { Candidate, ScheduledRequest } from './candidate';

/** Says which endpoints may take a request. Pure: same inputs, same answer, each candidate judged by itself. */
export interface Filter {
  readonly name: string;
  keeps(request: ScheduledRequest, candidate: Candidate): boolean;
}
