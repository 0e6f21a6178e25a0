import type { ListMember } from '../../lib/member-list';

/** What goes on for a client, and has to hear when it should end. */
export interface Underway extends ListMember {
  /** The client's connection closed. */
  clientLeft(): void;
  /** The request as a whole took too long, or the router is shutting down. */
  giveUp(code: 'upstream_timeout' | 'shutting_down', reason: string): void;
}
