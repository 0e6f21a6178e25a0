/** The exit status that a command asks for when it ended without an error: 0 unless it says otherwise. */
export class ExitStatus {
  code = 0;
}
