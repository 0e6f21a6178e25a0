#!/usr/bin/env node
// Syntax of the oldest Node versions only, so that those reach the message below instead of a SyntaxError.
var parts = process.versions.node.split('.').map(Number);
var isSupported = (parts[0] === 20 && parts[1] >= 19) || (parts[0] > 20 && parts[0] < 25);
if (!isSupported) {
  process.stderr.write(
    'kvasir: needs Node 20.19 to 24, this is ' +
      process.versions.node +
      '; install one of those and run it again [cli/node-version]\n',
  );
  process.exit(1);
}
require('./compile.js').compileCheckout();
require('../dist/cli/main.js')
  .main(process.argv.slice(2))
  .then((code) => {
    process.exitCode = code;
  });
