import { topic } from 'nestjs-delay-queue';

export interface ReportRequest {
  readonly reportId: string;
  readonly title: string;
}

/** Reports to be built. The type holds for the API that publishes and for the worker that handles. */
export const reportRequested = topic<ReportRequest>('report.requested');
