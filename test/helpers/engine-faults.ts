import type { ServerResponse } from 'node:http';
import { event, type FaultEngine, JSON_TYPE, streams } from './fault-engine';
import type { ReceivedRequest } from './router-harness';

/** How an engine answers in place of `FaultEngine.serve`. */
export type FaultAnswer = (engine: FaultEngine, request: ReceivedRequest, response: ServerResponse) => void;

const error = (status: number) => JSON.stringify({ error: { message: `says ${status}`, type: 'X', param: null, code: status } });

export const refuses =
  (status: number): FaultAnswer =>
  (_engine, _request, response) =>
    void response.writeHead(status, JSON_TYPE).end(error(status));

/** 200, and then an event that tells an error, as engines do. */
export const answersErrorEvent: FaultAnswer = (_engine, request, response) => {
  if (!streams(request)) response.writeHead(500, JSON_TYPE).end(error(500));
  else response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${event(JSON.parse(error(500)))}data: [DONE]\n\n`);
};

/** @param surplus bytes that the answer has more than its head says; negative: fewer. */
export const sizedWrong =
  (surplus: number): FaultAnswer =>
  (engine, request, response) => {
    const body = streams(request)
      ? `${event({ choices: [{ delta: { content: '' } }] })}${event({ choices: [] })}data: [DONE]\n\n`
      : engine.document(request);
    const type = streams(request) ? 'text/event-stream' : 'application/json';
    const head = `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${body.length - surplus}\r\n\r\n`;
    const { socket } = response;
    socket?.write(head + body);
    if (surplus < 0) socket?.end();
  };

/** A request whose body kills an engine that `diesOfBody`. */
export const DEADLY = 1_000_001;

/** Dies of one body, and is there again 100 ms later. @param onDeath called for each death. */
export const diesOfBody =
  (onDeath: () => void): FaultAnswer =>
  (engine, request, response) => {
    if (!request.body.includes(`request ${DEADLY} `)) {
      engine.serve(request, response);
      return;
    }
    onDeath();
    void engine.kill().then(() => setTimeout(() => void engine.start(engine.port), 100));
  };

/** Takes over how an engine answers. */
export function become(engine: FaultEngine, answer: FaultAnswer): void {
  engine.answer = (request, response) => answer(engine, request, response);
}
