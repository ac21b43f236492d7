import type { CommitRecord } from '../../storage/transaction.js'
import type { ServiceContext } from '../context.js'
import type { Incoming } from '../incoming.js'
import type { BackgroundWork, LaterMessage, Recorder, Recording, RequestRecording, WorkRecording } from '../recorder.js'
import type { RenderedAnswer } from '../rendered-answer.js'

/** Several recorders of the same work. The service calls its ports through the last one first. */
export class Recorders implements Recorder {
  constructor(readonly all: readonly Recorder[]) {}

  beginRequest(incoming: Incoming): RequestRecording | undefined {
    const begun = this.all.map((recorder) => recorder.beginRequest(incoming)).filter((each) => each !== undefined)
    return begun.length > 0 ? new RequestRecordings(begun) : undefined
  }

  beginWork(work: BackgroundWork): WorkRecording | undefined {
    const begun = this.all.map((recorder) => recorder.beginWork(work)).filter((each) => each !== undefined)
    return begun.length > 0 ? new WorkRecordings(begun) : undefined
  }

  noteMessage(eventId: number, message: LaterMessage): void {
    for (const recorder of this.all) recorder.noteMessage(eventId, message)
  }
}

class Recordings<R extends Recording> implements Recording {
  constructor(protected readonly all: readonly R[]) {}

  get id(): string | undefined {
    return this.all.find(({ id }) => id !== undefined)?.id
  }

  over(service: ServiceContext): ServiceContext {
    return this.all.reduce((given, recording) => recording.over(given), service)
  }

  noteFault(faultId: string): void {
    for (const recording of this.all) recording.noteFault(faultId)
  }
}

class RequestRecordings extends Recordings<RequestRecording> implements RequestRecording {
  takeBody(body: Uint8Array | string): void {
    for (const recording of this.all) recording.takeBody(body)
  }

  end(incoming: Incoming, answer: RenderedAnswer | undefined): void {
    for (const recording of this.all) recording.end(incoming, answer)
  }
}

class WorkRecordings extends Recordings<WorkRecording> implements WorkRecording {
  end(outcome: { readonly written?: CommitRecord | undefined; readonly failure?: unknown }): void {
    for (const recording of this.all) recording.end(outcome)
  }
}
