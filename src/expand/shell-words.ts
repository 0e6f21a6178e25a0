const OPERATORS = new Set([';', '&', '|', '(', ')', '\n']);

/**
 * Splits a shell script into its simple commands, each as a list of words, as far as container commands need it: quotes, backslashes,
 * comments, line continuations and `${NAME}`, `$NAME`, `${NAME:-default}` from `env`. Redirections are dropped; substitutions such as
 * `$(command)` stay as they are written, since nothing is run here.
 */
export function shellCommands(script: string, env: Readonly<Record<string, string>> = {}): readonly (readonly string[])[] {
  const commands: string[][] = [[]];
  let word: string | undefined;
  let redirects = false;

  const endWord = () => {
    if (word !== undefined && !redirects) commands.at(-1)!.push(word);
    if (word !== undefined) redirects = false;
    word = undefined;
  };
  const endCommand = () => {
    endWord();
    redirects = false;
    if (commands.at(-1)!.length > 0) commands.push([]);
  };

  for (let i = 0; i < script.length; i++) {
    const char = script[i]!;
    if (char === '\\') {
      i++;
      if (script[i] !== '\n' && i < script.length) word = (word ?? '') + script[i];
    } else if (char === "'") {
      const end = closing(script, i + 1, "'");
      word = (word ?? '') + script.slice(i + 1, end);
      i = end;
    } else if (char === '"') {
      const quoted = doubleQuoted(script, i + 1, env);
      word = (word ?? '') + quoted.text;
      i = quoted.end;
    } else if (char === '$') {
      const variable = expandVariable(script, i, env);
      word = (word ?? '') + variable.text;
      i = variable.end;
    } else if (char === '#' && word === undefined) {
      i = closing(script, i, '\n') - 1;
    } else if (char === '>' || char === '<') {
      // A file descriptor before the sign (`2>`) is part of the redirection.
      if (word !== undefined && /^\d+$/.test(word)) word = undefined;
      endWord();
      while (script[i + 1] === '>' || script[i + 1] === '&') i++;
      redirects = true;
    } else if (OPERATORS.has(char)) {
      endCommand();
    } else if (/\s/.test(char)) {
      endWord();
    } else {
      word = (word ?? '') + char;
    }
  }
  endCommand();
  return commands.filter((words) => words.length > 0);
}

/** Index of `mark` from `start`, or the end of the script. */
function closing(script: string, start: number, mark: string): number {
  const end = script.indexOf(mark, start);
  return end === -1 ? script.length : end;
}

function doubleQuoted(script: string, start: number, env: Readonly<Record<string, string>>): { text: string; end: number } {
  let text = '';
  let i = start;
  for (; i < script.length && script[i] !== '"'; i++) {
    if (script[i] === '\\' && '"\\$`\n'.includes(script[i + 1] ?? ' ')) {
      i++;
      if (script[i] !== '\n') text += script[i];
    } else if (script[i] === '$') {
      const variable = expandVariable(script, i, env);
      text += variable.text;
      i = variable.end;
    } else {
      text += script[i];
    }
  }
  return { text, end: i };
}

/** The variable at `start`, which is a `$`; `end` is the index of its last character. */
function expandVariable(script: string, start: number, env: Readonly<Record<string, string>>): { text: string; end: number } {
  const match = /^\$(?:(\w+)|\{(\w+)(?::?-([^}]*))?\})/.exec(script.slice(start, start + 512));
  if (match === null) {
    // `$(…)` is kept whole, so that its inner operators split nothing.
    const end = script[start + 1] === '(' ? closing(script, start, ')') : start;
    return { text: script.slice(start, end + 1), end };
  }
  const name = match[1] ?? match[2]!;
  return { text: env[name] ?? match[3] ?? match[0], end: start + match[0].length - 1 };
}
