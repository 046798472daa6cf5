// `make merchant-client` generates this file from the OpenAPI document of the service.

import type {
  ActiveTxStatus,
  DeliveryState,
  DisbursementState,
  Finality,
  OrderState,
  Reason,
} from "./values.js";

/** Parameters of `listOrders`. */
export interface ListOrdersQuery {
  limit?: number;
  cursor?: string;
  created_from?: number;
  created_before?: number;
  state?: OrderState;
  finality?: Finality;
  tx_status?: ActiveTxStatus;
  destination?: string;
  payer?: string;
  nonce?: string;
  id?: string;
  reference?: string;
  transaction?: string;
  amount_from?: string;
  amount_to?: string;
}

/** Parameters of `getOrder`. */
export interface GetOrderQuery {
  refunds?: "true" | "false";
}

/** Parameters of `getOrderTypedData`. */
export interface GetOrderTypedDataQuery {
  purpose?: "pay" | "cancel";
  payer?: string;
}

/** Parameters of `getOrderTimeline`. */
export interface GetOrderTimelineQuery {
  limit?: number;
  cursor?: string;
  refunds?: "true" | "false";
}

/** Parameters of `listRefunds`. */
export interface ListRefundsQuery {
  limit?: number;
  cursor?: string;
  created_from?: number;
  created_before?: number;
  state?: DisbursementState;
  order?: string;
}

/** Parameters of `getRefundTimeline`. */
export interface GetRefundTimelineQuery {
  limit?: number;
  cursor?: string;
}

/** Parameters of `listPayouts`. */
export interface ListPayoutsQuery {
  limit?: number;
  cursor?: string;
  created_from?: number;
  created_before?: number;
  state?: DisbursementState;
}

/** Parameters of `getPayoutTimeline`. */
export interface GetPayoutTimelineQuery {
  limit?: number;
  cursor?: string;
}

/** Parameters of `listUnmatchedTransfers`. */
export interface ListUnmatchedTransfersQuery {
  limit?: number;
  cursor?: string;
  reason?: Reason;
  resolved?: "true" | "false";
}

/** Parameters of `exportCsv`. */
export interface ExportCsvQuery {
  block_time_from?: number;
  block_time_before?: number;
}

/** Parameters of `exportJsonLines`. */
export interface ExportJsonLinesQuery {
  block_time_from?: number;
  block_time_before?: number;
}

/** Parameters of `getStatistics`. */
export interface GetStatisticsQuery {
  created_from?: number;
  created_before?: number;
}

/** Parameters of `listDeliveries`. */
export interface ListDeliveriesQuery {
  limit?: number;
  cursor?: string;
  state?: DeliveryState;
  webhook?: string;
}

